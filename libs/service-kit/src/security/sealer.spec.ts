import { randomBytes } from 'node:crypto'
import { ConfigError, readConfig } from '@leadwire/settings'
import { createSealer, encryptionKeys } from './sealer'

const [older, newer] = [randomBytes(32), randomBytes(32)]

describe('a sealer', () => {
  const sealer = createSealer([older])

  it('opens what it sealed, and never seals the same twice alike', () => {
    const sealed = [sealer.seal('whsec_é', 'endpoint 1'), sealer.seal('whsec_é', 'endpoint 1')]
    expect(sealed.map((each) => sealer.open(each, 'endpoint 1').toString())).toEqual(['whsec_é', 'whsec_é'])
    expect(sealed[0]).not.toEqual(sealed[1])
    expect(sealed[0]!.includes('whsec')).toBe(false)
  })

  it('refuses what was sealed for another context', () => {
    expect(() => sealer.open(sealer.seal('secret', 'endpoint 1'), 'endpoint 2')).toThrow()
  })

  it('refuses what was changed in any byte', () => {
    const sealed = sealer.seal('secret', 'endpoint 1')
    for (const at of sealed.keys()) {
      const changed = Buffer.from(sealed)
      changed[at]! ^= 1
      expect(() => sealer.open(changed, 'endpoint 1')).toThrow()
    }
  })

  it('refuses what was truncated', () => {
    const sealed = sealer.seal('secret', 'endpoint 1')
    for (let length = 0; length < sealed.length; length += 1)
      expect(() => sealer.open(sealed.subarray(0, length), 'endpoint 1')).toThrow()
  })

  it('opens with each of its keys and seals with the first', () => {
    const both = createSealer([newer, older])
    expect(both.open(sealer.seal('secret', ''), '').toString()).toBe('secret')
    const sealed = both.seal('secret', '')
    expect(sealed.subarray(0, both.prefix.length)).toEqual(both.prefix)
    expect(() => sealer.open(sealed, '')).toThrow(expect.objectContaining({ code: 'internal' }))
  })
})

describe('ENCRYPTION_KEYS', () => {
  const read = (text?: string) => readConfig({ ENCRYPTION_KEYS: text }, { ENCRYPTION_KEYS: encryptionKeys() })

  it('takes keys parted by commas', () => {
    const text = `${older.toString('base64')}, ${newer.toString('base64')}`
    expect(read(text).ENCRYPTION_KEYS).toEqual([older, newer])
  })

  it.each([
    'too short',
    `${older.toString('base64')},`,
    randomBytes(31).toString('base64'),
  ])('refuses %j without showing it', (text) => {
    expect(() => read(text)).toThrow(ConfigError)
    expect(() => read(text)).not.toThrow(text)
  })

  it('is needed', () => {
    expect(() => read()).toThrow('ENCRYPTION_KEYS: is missing')
  })
})
