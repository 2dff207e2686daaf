import { createHash, timingSafeEqual } from 'node:crypto'
import { current, type Live, makeValidator, str } from '@leadwire/settings'

const TOKEN = /^[\x21-\x7e]{16,}$/

/** Parses the tokens. There are two while the token is being replaced. */
const serviceToken = makeValidator<string[]>((text) => {
  const tokens = text.split(',').map((token) => token.trim())
  // The message must not show a token, which is a secret.
  if (!tokens.every((token) => TOKEN.test(token)))
    throw new TypeError('each token must have at least 16 printable ASCII characters and no spaces')
  return tokens
})

export const serviceTokenSettings = (env: NodeJS.ProcessEnv) => ({
  /** The valid tokens. The first one is sent. Empty if `SERVICE_AUTH` is `none`. */
  SERVICE_TOKEN:
    env['SERVICE_AUTH'] === 'none'
      ? makeValidator<string[]>(() => [])({ default: [] })
      : serviceToken({ desc: 'the token that services send to each other (or set SERVICE_AUTH=none)' }),
  SERVICE_AUTH: str({ choices: ['token', 'none'], default: 'token' }),
})

/** Returns the `authorization` header to send. Undefined if no token is used. */
export const renderBearer = (tokens: Live<readonly string[]>): string | undefined => {
  const [first] = current(tokens)
  return first && `Bearer ${first}`
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * Makes the function that checks an `authorization` header. If there are no tokens, the function accepts
 * every header. The duration of a check reveals nothing about the tokens, because the digests have equal
 * lengths, and every token is compared.
 */
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
