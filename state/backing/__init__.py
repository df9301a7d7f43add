"""Where bytes that older versions stored look for their classes; nothing new is kept here."""
