#!/bin/sh
# Takes the first legal action: a regular side if one fits, then a flex side, then a wild; draws only when stuck.

while IFS= read -r view; do
    # The line holds "legal_numbers": [12, 30, 208], in increasing order.
    numbers=${view##*'"legal_numbers": ['}
    numbers=${numbers%%']'*}
    echo "${numbers%%,*}"
done
