<?php
// check ends the program unless a call has returned what it should.
function check($what, $got, $want) {
    if ($got !== $want) {
        fwrite(STDERR, "$what = " . var_export($got, true) . ", want " . var_export($want, true) . "\n");
        exit(1);
    }
}
