"""Public data sets: a table of addresses, licences and checksums, and the only code of tongsa that downloads."""
