"""A deployment gone wrong, for a drill: it answers HTTP, and every answer is 501. --host HOST --port PORT."""

import http.server
import sys


class Wrong(http.server.BaseHTTPRequestHandler):
    """Knows neither the API nor the health check."""

    def do_GET(self) -> None:
        """Answer 501."""
        self.send_error(501)

    def do_POST(self) -> None:
        """Answer 501."""
        self.send_error(501)


if __name__ == "__main__":
    said = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    http.server.ThreadingHTTPServer((said["--host"], int(said["--port"])), Wrong).serve_forever()
