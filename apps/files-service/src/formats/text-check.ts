const PRINTABLE_FROM = 0x20
const DELETE = 0x7f
const WHITESPACE = new Set([0x09, 0x0a, 0x0c, 0x0d])

const IS_CONTROL = Uint8Array.from({ length: 256 }, (_, byte) =>
  (byte < PRINTABLE_FROM && !WHITESPACE.has(byte)) || byte === DELETE ? 1 : 0,
)

const hasControl = (bytes: Uint8Array): boolean => {
  for (let index = 0; index < bytes.length; index += 1) if (IS_CONTROL[bytes[index]!] === 1) return true
  return false
}

export interface TextFindings {
  /** No NUL and no control byte other than tab, line feed, form feed and carriage return. */
  readable: boolean
  /** Valid UTF-8 from the first byte to the last. */
  utf8: boolean
}

/** Watches bytes go by and says whether they could be text. Keeps none of them. */
export const createTextCheck = (): { add(bytes: Uint8Array): void; findings(): TextFindings } => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let readable = true
  let utf8 = true
  const decode = (bytes?: Uint8Array) => {
    try {
      if (bytes) decoder.decode(bytes, { stream: true })
      else decoder.decode()
    } catch {
      utf8 = false
    }
  }
  return {
    add: (bytes) => {
      if (readable && hasControl(bytes)) readable = false
      if (readable && utf8) decode(bytes)
    },
    findings: () => {
      if (readable && utf8) decode()
      return { readable, utf8: readable && utf8 }
    },
  }
}
