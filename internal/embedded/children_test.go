package embedded_test

const smallDir = "IRIS_TEST_SMALL_DIR"
