import { createHash, timingSafeEqual } from 'node:crypto'
import { current, type Live, makeValidator, str } from '@leadwire/settings'

const TOKEN = /^[\x21-\x7e]{16,}$/

/** Two while they are exchanged. */
const serviceToken = makeValidator<string[]>((text) => {
  const tokens = text.split(',').map((token) => token.trim())
  // A token is a secret: the message must not show it.
  if (!tokens.every((token) => TOKEN.test(token)))
    throw new TypeError('each token must have 16 or more printable ASCII characters, none of them a space')
  return tokens
})

export const serviceTokenSettings = (env: NodeJS.ProcessEnv) => ({
  /** The tokens that are valid, the one to send first; empty when `SERVICE_AUTH` is `none`. */
  SERVICE_TOKEN:
    env['SERVICE_AUTH'] === 'none'
      ? makeValidator<string[]>(() => [])({ default: [] })
      : serviceToken({ desc: 'the token that services show each other (or SERVICE_AUTH=none)' }),
  SERVICE_AUTH: str({ choices: ['token', 'none'], default: 'token' }),
})

/** The `authorization` header to send; undefined where no token is used. */
export const bearerOf = (tokens: Live<readonly string[]>): string | undefined => {
  const [first] = current(tokens)
  return first && `Bearer ${first}`
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Always true without tokens. The time reveals nothing of them: digests have one length, and every token is compared. */
export const createTokenCheck =
  (tokens: Live<readonly string[]>) =>
  (authorization: string | undefined): boolean => {
    const digests = current(tokens).map(digest)
    if (digests.length === 0) return true
    const [, shown] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
    if (shown === undefined) return false
    const given = digest(shown)
    return digests.filter((known) => timingSafeEqual(known, given)).length > 0
  }
