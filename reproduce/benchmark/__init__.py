"""Methods of this library and of others on sixteen data sets, with published scores beside."""
