"""Image classification, from LeNet on."""
