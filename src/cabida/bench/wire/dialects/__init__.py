"""What is sent to an API of OpenAI's kind, and what its many speakers send back."""
