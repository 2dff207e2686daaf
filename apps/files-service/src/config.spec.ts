import { ConfigError } from '@leadwire/service-kit'
import { readFilesConfig } from './config'

const PORTS = { HTTP_PORT: '4001', HEALTH_PORT: '4002', SERVICE_TOKEN: 'sixteen-letters-' }

const errorsOf = (env: NodeJS.ProcessEnv): Record<string, string> => {
  try {
    readFilesConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.errors
    throw error
  }
  return {}
}

test('a folder needs nothing of S3', () => {
  expect(readFilesConfig({ ...PORTS, STORE_URL: 'file:///var/lib/lead%20wire' })).toMatchObject({
    STORE_URL: { kind: 'directory', path: '/var/lib/lead wire' },
    HOST: '127.0.0.1',
    HTTP_PORT: 4001,
    HEALTH_PORT: 4002,
    LOG_LEVEL: 'info',
  })
})

test('a bucket needs an address', () => {
  const s3 = { S3_ENDPOINT: 'http://127.0.0.1:9000', S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 'b' }
  expect(readFilesConfig({ ...PORTS, STORE_URL: 's3://leadwire', ...s3 })).toMatchObject({
    STORE_URL: { kind: 's3', bucket: 'leadwire' },
    S3_ENDPOINT: new URL('http://127.0.0.1:9000'),
    S3_REGION: 'us-east-1',
  })
})

test('without keys a bucket is opened by the identity of the machine or pod, and half a pair is an error', () => {
  const s3 = { ...PORTS, STORE_URL: 's3://leadwire', S3_ENDPOINT: 'http://127.0.0.1:9000' }
  expect(readFilesConfig(s3)).toMatchObject({ S3_ACCESS_KEY: undefined, S3_SECRET_KEY: undefined })
  expect(errorsOf({ ...s3, S3_ACCESS_KEY: 'a' })).toEqual({
    S3_SECRET_KEY: 'is missing: S3_ACCESS_KEY needs it',
  })
  expect(errorsOf({ ...s3, S3_SECRET_KEY: 'b' })).toEqual({
    S3_ACCESS_KEY: 'is missing: S3_SECRET_KEY needs it',
  })
})

test('HEALTH_PORT is not HTTP_PORT', () => {
  expect(errorsOf({ ...PORTS, STORE_URL: 'file:///data', HEALTH_PORT: PORTS.HTTP_PORT })).toEqual({
    HEALTH_PORT: '4001 is the port of HTTP_PORT, too',
  })
})

test('every error is reported at once', () => {
  const S3_ENDPOINT = 'http://key:secret@127.0.0.1:9000'
  expect(errorsOf({ STORE_URL: 's3://leadwire', S3_ENDPOINT, LOG_LEVEL: 'loud' })).toEqual({
    S3_ENDPOINT: 'is no address such as http://127.0.0.1:9000',
    HTTP_PORT: 'is missing',
    HEALTH_PORT: 'is missing',
    SERVICE_TOKEN: expect.stringContaining('is missing'),
    LOG_LEVEL: expect.stringContaining('loud'),
  })
  expect(Object.keys(errorsOf({}))).toEqual(['STORE_URL', 'HTTP_PORT', 'HEALTH_PORT', 'SERVICE_TOKEN'])
})

test.each([
  'relative/folder',
  '/absolute/without/scheme',
  'file:folder',
  'file://host/folder',
  's3://',
  's3://Upper',
  's3://bucket/prefix',
  'http://127.0.0.1',
])('STORE_URL refuses %s', (url) => {
  expect(errorsOf({ ...PORTS, STORE_URL: url })).toHaveProperty('STORE_URL')
})
