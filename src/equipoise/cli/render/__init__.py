"""What people see: tables, bars and panels on a terminal."""
