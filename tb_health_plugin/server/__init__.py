"""TensorBoard's side: the routes and the JSON of `http_api.md`."""
