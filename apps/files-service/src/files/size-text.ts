const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE

/** A limit as a reader says it: `10 MiB`, `512 KiB`, `1000 bytes`. Exact, so only whole units are used. */
export const sizeText = (bytes: number): string => {
  if (bytes >= MEBIBYTE && bytes % MEBIBYTE === 0) return `${bytes / MEBIBYTE} MiB`
  if (bytes >= KIBIBYTE && bytes % KIBIBYTE === 0) return `${bytes / KIBIBYTE} KiB`
  return bytes === 1 ? '1 byte' : `${bytes} bytes`
}
