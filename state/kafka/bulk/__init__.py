"""Rows too many for the driver: tasks stage them as files, and several producers send a txid, each its own share."""
