#!/bin/sh
# capture and doctor, with a stand-in for nsys, and with the real one if it is installed.
# usage: capture.sh BUILD_DIR
exec "$(dirname "$0")/../capture/run.sh" "$1/nsys-explain" "$1/fixtures/synthetic.sqlite"
