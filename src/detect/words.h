/* words.h - the sentences of findings as format strings, from words.def: say_NAME. */
#pragma once

#include "base/base.h"

#define NSX_SAY(id, text) static const char id[] NSX_UNUSED = text;
#include "detect/words.def"
#undef NSX_SAY
