"""Published data sets in files of the folder that ``PRUNEMODELS_DATA`` names. Nothing is downloaded."""
