#!/bin/sh
# capture and doctor: stand-in nsys, and the real one where it can be had
# usage: capture.sh BUILD_DIR
exec "$(dirname "$0")/../capture/run.sh" "$1/nsys-explain" "$1/fixtures/synthetic.sqlite"
