"""Why a callback stopped a training that should have gone on."""
