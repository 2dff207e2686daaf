import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { makeValidator } from '@leadwire/settings'
import { ServiceError } from '../errors/service-error'

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
const FORMAT = 1
const PREFIX_BYTES = 5

/**
 * Parses the encryption keys: 32 random bytes each, in base64, separated by commas. The first key encrypts
 * and all keys decrypt, so that keys can be replaced while copies run.
 */
export const encryptionKeys = () =>
  makeValidator<Buffer[]>((text) => {
    const keys = text.split(',').map((key) => Buffer.from(key.trim(), 'base64'))
    // The message must not show a key, which is a secret.
    if (!keys.every(({ length }) => length === KEY_BYTES))
      throw new TypeError('each key must be 32 bytes in base64: create one with `openssl rand -base64 32`')
    return keys
  })({ desc: 'the keys that encrypt stored secrets' })

// Returns bytes that identify the key without revealing it.
const buildPrefix = (key: Buffer): Buffer => {
  const digest = createHash('sha256').update(key).digest()
  return Buffer.concat([Buffer.of(FORMAT), digest], PREFIX_BYTES)
}

const decrypt = (key: Buffer, sealed: Buffer, context: string): Buffer => {
  const textAt = IV_BYTES + TAG_BYTES
  const iv = sealed.subarray(0, IV_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(IV_BYTES, textAt))
  return Buffer.concat([decipher.update(sealed.subarray(textAt)), decipher.final()])
}

/**
 * Makes a sealer, which encrypts with AES-256-GCM (NIST SP 800-38D). The context of a value, such as its row,
 * is authenticated. A value that is moved to another context can therefore not be opened.
 */
export const createSealer = (keys: readonly Buffer[]) => {
  const [first] = keys
  if (!first) throw new TypeError('a sealer needs a key')
  const prefix = buildPrefix(first)
  const byPrefix = new Map(keys.map((key) => [buildPrefix(key).toString('latin1'), key]))
  return {
    /** The first bytes of every value that the first key has sealed. */
    prefix,
    /**
     * Encrypts a value. Returns 1 byte of format, 4 bytes that identify the key, 12 bytes of initialisation
     * vector, 16 bytes of tag, and the ciphertext.
     */
    seal: (plain: string | Uint8Array, context: string): Buffer => {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', first, iv).setAAD(Buffer.from(context))
      const sealed = [cipher.update(plain), cipher.final()]
      return Buffer.concat([prefix, iv, cipher.getAuthTag(), ...sealed])
    },
    /**
     * Decrypts a value. Throws `internal` if the key is unknown, the context differs, or the value was
     * changed.
     */
    open: (sealed: Uint8Array, context: string): Buffer => {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
      const key = byPrefix.get(bytes.toString('latin1', 0, PREFIX_BYTES))
      try {
        if (!key)
          throw new Error(
            'no key of ENCRYPTION_KEYS decrypts a stored value: add the key that encrypted the value',
          )
        return decrypt(key, bytes.subarray(PREFIX_BYTES), context)
      } catch (cause) {
        throw ServiceError.internal(cause)
      }
    },
  }
}

export type Sealer = ReturnType<typeof createSealer>
