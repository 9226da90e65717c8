"""The study of flex timing: simulations, statistics, tables and figures."""
