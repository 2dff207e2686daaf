import { ConfigError, readConfig } from '@leadwire/settings'
import { createTokenCheck, renderBearer, serviceTokenSettings } from './service-token'

const OLD = 'an-old-token-0123456789'
const NEW = 'a-new-token-0123456789'

const read = (env: NodeJS.ProcessEnv) => readConfig(env, serviceTokenSettings(env))

const listErrors = (env: NodeJS.ProcessEnv): Record<string, string> => {
  try {
    read(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.errors
    throw error
  }
  return {}
}

test('without a token a service does not start, unless SERVICE_AUTH is none', () => {
  expect(listErrors({})).toEqual({ SERVICE_TOKEN: expect.stringContaining('SERVICE_AUTH=none') })
  expect(listErrors({ SERVICE_AUTH: 'maybe' })).toHaveProperty('SERVICE_AUTH')
  expect(read({ SERVICE_AUTH: 'none', SERVICE_TOKEN: OLD })).toMatchObject({ SERVICE_TOKEN: [] })
  expect(read({ SERVICE_TOKEN: `${NEW}, ${OLD}` })).toMatchObject({ SERVICE_TOKEN: [NEW, OLD] })
})

test.each([
  'short',
  `${OLD},`,
  `${OLD},short`,
  'a token with spaces in it',
  'ein-schlüssel-mit-umlaut',
])('the token %j is refused, and not shown', (token) => {
  const { SERVICE_TOKEN: error } = listErrors({ SERVICE_TOKEN: token })
  expect(error).toContain('16')
  expect(error).not.toContain(token)
})

test('the first token is sent, and each is taken', () => {
  expect(renderBearer([NEW, OLD])).toBe(`Bearer ${NEW}`)
  const check = createTokenCheck([NEW, OLD])
  for (const shown of [`Bearer ${NEW}`, `Bearer ${OLD}`, `bearer ${OLD}`]) expect(check(shown)).toBe(true)
})

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  `Basic ${OLD}`,
  OLD,
  `Bearer ${OLD}x`,
  `Bearer ${OLD} x`,
])('the header %j is refused', (shown) => expect(createTokenCheck([NEW, OLD])(shown)).toBe(false))

test('where no token is used, none is sent and everyone may pass', () => {
  expect(renderBearer([])).toBeUndefined()
  expect(createTokenCheck([])(undefined)).toBe(true)
})
