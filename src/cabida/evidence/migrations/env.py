"""What Alembic runs: the migrations, on the connection it was handed."""

from alembic import context

from cabida.evidence.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, transactional_ddl=True
)
context.run_migrations()
