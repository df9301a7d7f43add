"""How a Kafka cluster is reached, told to each of its clients in that client's own words."""
