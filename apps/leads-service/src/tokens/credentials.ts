import { createHash, randomBytes } from 'node:crypto'

const random = () => randomBytes(32).toString('base64url')

/** A new bearer token (256 random bits). Only its hash is ever stored. */
export const newToken = (test: boolean): string => `lw_${test ? 'test' : 'live'}_${random()}`

/** The hash by which a token is stored and found. A fast hash is enough: there is nothing to guess in 256 random bits. */
export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest()

/** A new account's API key: it names the account to webhook receivers. */
export const newApiKey = (): string => `lw_key_${random()}`
