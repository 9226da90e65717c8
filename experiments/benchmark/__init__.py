"""The benchmark of learning algorithms: tables of results, statistics, figures."""
