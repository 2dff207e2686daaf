import { ConfigError } from '@leadwire/service-kit'
import { readFilesConfig } from './config'

const PORTS = { HTTP_PORT: '4001', HEALTH_PORT: '4002', SERVICE_TOKEN: 'sixteen-letters-' }

const listErrors = (env: NodeJS.ProcessEnv): Record<string, string> => {
  try {
    readFilesConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.errors
    throw error
  }
  return {}
}

test('a folder needs no setting of S3', () => {
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

test('both keys or none are required: without keys the identity of the machine or pod is used', () => {
  const s3 = { ...PORTS, STORE_URL: 's3://leadwire', S3_ENDPOINT: 'http://127.0.0.1:9000' }
  expect(readFilesConfig(s3)).toMatchObject({ S3_ACCESS_KEY: undefined, S3_SECRET_KEY: undefined })
  expect(listErrors({ ...s3, S3_ACCESS_KEY: 'a' })).toEqual({
    S3_SECRET_KEY: 'is missing: set it together with S3_ACCESS_KEY',
  })
  expect(listErrors({ ...s3, S3_SECRET_KEY: 'b' })).toEqual({
    S3_ACCESS_KEY: 'is missing: set it together with S3_SECRET_KEY',
  })
})

test('HEALTH_PORT must differ from HTTP_PORT', () => {
  expect(listErrors({ ...PORTS, STORE_URL: 'file:///data', HEALTH_PORT: PORTS.HTTP_PORT })).toEqual({
    HEALTH_PORT: '4001 is also the port of HTTP_PORT',
  })
})

test('all errors are reported at once', () => {
  const S3_ENDPOINT = 'http://key:secret@127.0.0.1:9000'
  expect(listErrors({ STORE_URL: 's3://leadwire', S3_ENDPOINT, LOG_LEVEL: 'loud' })).toEqual({
    S3_ENDPOINT: 'must be an address such as http://127.0.0.1:9000',
    HTTP_PORT: 'is missing',
    HEALTH_PORT: 'is missing',
    SERVICE_TOKEN: expect.stringContaining('is missing'),
    LOG_LEVEL: expect.stringContaining('loud'),
  })
  expect(Object.keys(listErrors({}))).toEqual(['STORE_URL', 'HTTP_PORT', 'HEALTH_PORT', 'SERVICE_TOKEN'])
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
])('STORE_URL must not be %s', (url) => {
  expect(listErrors({ ...PORTS, STORE_URL: url })).toHaveProperty('STORE_URL')
})
