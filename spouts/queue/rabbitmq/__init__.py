"""RabbitMQ as a source of messages."""
