/**
 * The postcodes that are taken, as they are stored: those of the United Kingdom, of its forces (BFPO) and of its overseas
 * territories (design: Create).
 */
export const POSTCODE =
  /^(GIR 0AA|[A-Z]{1,2}[0-9][A-Z0-9]? [0-9][A-Z]{2}|BFPO [1-9][0-9]{0,3}|(ASCN|BBND|BIQQ|FIQQ|PCRN|SIQQ|STHL|TDCU|TKCA) 1ZZ)$/
