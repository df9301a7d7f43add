"""Who decides: protocol, batch coordinator, ledger, lease and acker."""
