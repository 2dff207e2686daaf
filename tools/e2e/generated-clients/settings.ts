import process from 'node:process'

const setting = (name: string): string => {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is missing`)
  return value
}

/** The stack that the clients are tried on. */
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

export const bytesOf = (text: string) => new TextEncoder().encode(text)

/** Tells the spec what came back. */
export const report = (seen: { listed: string[]; email: string; file: string }) =>
  process.stdout.write(JSON.stringify(seen))
