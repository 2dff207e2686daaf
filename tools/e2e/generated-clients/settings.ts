import process from 'node:process'

const setting = (name: string): string => {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is missing`)
  return value
}

/** The base URL of the stack and a token. */
export const settings = { baseUrl: setting('BASE_URL'), token: setting('TOKEN') }

export const EXAMPLE = {
  name: 'Bay window',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
} as const

export const encodeText = (text: string) => new TextEncoder().encode(text)

/** Prints the results for the spec. */
export const report = (seen: { listed: string[]; email: string; file: string }) =>
  process.stdout.write(JSON.stringify(seen))
