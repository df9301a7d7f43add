"""What a SQL database object is, and how its transactions run; each kind of database has a folder of its own."""
