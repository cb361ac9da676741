#include <tegula/tegula.hpp>

int other_unit();
int other_unit() { return 0; }
