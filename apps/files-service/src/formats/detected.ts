import type { FileFormat } from '@leadwire/contracts'

export interface Detected {
  format?: FileFormat | undefined
  /** Of a text. */
  charset?: string
  /** Why it is not of the formats that its extension may claim. */
  why?: Partial<Record<string, string>>
}
