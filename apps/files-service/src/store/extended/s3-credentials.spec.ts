import { createHash, createSign, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { eventually, type ObjectStoreDirectory, objectStoreDirectory } from '@leadwire/test-kit'
import { type Minio, minioBinary, startMinio, whyNoMinio } from '../minio.fixture'
import { createS3Credentials, type S3Credentials } from '../s3-credentials'
import { createS3Store } from '../s3-store'

if (minioBinary === undefined) console.warn(`SKIPPED: keys of machines and pods. ${whyNoMinio}`)

const closing: (() => unknown)[] = []

/**
 * Starts a server. Each response is a result of `answer`: a text, an object that is sent as JSON, or a
 * status.
 */
const serve = async (answer: (request: IncomingMessage) => Promise<object | string | number>) => {
  const server = createServer(async (incoming, response) => {
    // AWS's library renews keys in the background, so MinIO may stop at the end of the spec while a request
    // waits for its keys.
    const body = await answer(incoming).catch(() => 500)
    // A client could send a request on an idle connection just as the server closes the connection.
    response.shouldKeepAlive = false
    response.statusCode = typeof body === 'number' ? body : 200
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closing.push(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/**
 * Posts a form on a new connection. Returns the text of the response. MinIO could close an idle connection of
 * `fetch` just as the form is sent.
 */
const postForm = async (url: URL, fields: Record<string, string>): Promise<string> => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const sent = request(url, { method: 'POST', agent: false, headers })
  sent.end(String(new URLSearchParams(fields)))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return String(await buffer(response))
}

const CLIENT = 'leadwire'
// MinIO derives the name of the role from the client's id.
const ROLE = `arn:minio:iam:::role/${createHash('sha1').update(CLIENT).digest('base64url')}`

/** Starts an OpenID provider such as a Kubernetes cluster has for its pods. */
const startProvider = async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...publicKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'spec' }
  const issuer: string = await serve(async ({ url }) =>
    url === '/keys'
      ? { keys: [key] }
      : {
          issuer,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['id_token'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        },
  )
  const tokenFor = (seconds: number): string => {
    const exp = Math.floor(Date.now() / 1000) + seconds
    const claims = { iss: issuer, aud: CLIENT, sub: 'system:serviceaccount:leadwire:files', exp }
    const text = [{ alg: 'RS256', typ: 'JWT', kid: 'spec' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`
  }
  return { tokenFor, discovery: `${issuer}/.well-known/openid-configuration` }
}

const NO_KEYS = { S3_ACCESS_KEY: undefined, S3_SECRET_KEY: undefined }

;(minioBinary === undefined ? describe.skip : describe)('without keys in its settings a store', () => {
  let directory: ObjectStoreDirectory
  let minio: Minio
  let tokenFor: (seconds: number) => string
  const given = { ...process.env }

  beforeAll(async () => {
    directory = await objectStoreDirectory()
    await mkdir(join(directory.path, 'spool'))
    const provider = await startProvider()
    tokenFor = provider.tokenFor
    minio = await startMinio(minioBinary!, join(directory.path, 'minio'), undefined, {
      MINIO_IDENTITY_OPENID_CONFIG_URL: provider.discovery,
      MINIO_IDENTITY_OPENID_CLIENT_ID: CLIENT,
      MINIO_IDENTITY_OPENID_ROLE_POLICY: 'readwrite',
    })
  })
  afterEach(() => {
    process.env = { ...given }
  })
  afterAll(async () => {
    await minio.stop()
    for (const close of closing) close()
    await directory.remove()
  })

  const storeWith = (credentials: () => Promise<S3Credentials>) =>
    createS3Store({
      endpoint: minio.endpoint,
      bucket: 'leadwire',
      region: 'us-east-1',
      credentials,
      spoolFolder: join(directory.path, 'spool'),
    })

  /**
   * Gets temporary credentials that MinIO accepts for `seconds` seconds. Returns them in the format of AWS's
   * services.
   */
  const assumeRole = async (seconds: number) => {
    const text = await postForm(minio.endpoint, {
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: ROLE,
      WebIdentityToken: tokenFor(seconds),
    })
    const read = (name: string) => new RegExp(`<${name}>(.*)</${name}>`).exec(text)![1]!
    return {
      AccessKeyId: read('AccessKeyId'),
      SecretAccessKey: read('SecretAccessKey'),
      Token: read('SessionToken'),
      Expiration: read('Expiration'),
    }
  }

  /** Uses a store until MinIO refuses the store's first keys. Expects that the store then uses new keys. */
  const outlivesItsFirstKeys = async () => {
    const credentials = createS3Credentials(NO_KEYS)
    const store = storeWith(credentials)
    await eventually(() => store.prepare(), { describe: 'waiting for the bucket' })
    const first = await credentials()
    expect(first.sessionToken).toBeDefined()
    const [failures, old]: [unknown[], typeof store] = [[], storeWith(async () => first)]
    await eventually(async () => {
      await store.check().catch((error) => failures.push(error))
      await expect(old.check()).rejects.toThrow('the store responded with 403')
    })
    const path = join(directory.path, 'spool', first.accessKeyId)
    await writeFile(path, 'bytes')
    await store.put(first.accessKeyId, { path, size: 5, contentType: 'text/plain' })
    expect(String(await buffer((await store.get(first.accessKeyId))!.bytes))).toBe('bytes')
    const keys: string[] = []
    for await (const key of store.list({ before: new Date(Date.now() + 60_000) })) keys.push(key)
    expect(keys).toContain(first.accessKeyId)
    await store.delete(first.accessKeyId)
    expect(failures).toEqual([])
  }

  test('uses the web identity of a pod (IRSA), with the current token in its file', async () => {
    const file = join(directory.path, 'token')
    // Replaces the file atomically, as Kubernetes does. Otherwise the store might read an empty file.
    const renew = () => {
      writeFileSync(`${file}.new`, tokenFor(3))
      renameSync(`${file}.new`, file)
    }
    renew()
    const renewal = setInterval(renew, 500)
    Object.assign(process.env, {
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ROLE_ARN: ROLE,
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_STS: minio.endpoint.href,
    })
    try {
      await outlivesItsFirstKeys()
    } finally {
      clearInterval(renewal)
    }
  })

  test('uses the role of a machine, over IMDSv2', async () => {
    const refused: string[] = []
    const respondToSession = async (url: string) => {
      if (url === '/latest/meta-data/iam/security-credentials/') return 'files-role'
      if (url !== '/latest/meta-data/iam/security-credentials/files-role') return 404
      return {
        Code: 'Success',
        Type: 'AWS-HMAC',
        LastUpdated: '2026-01-01T00:00:00Z',
        ...(await assumeRole(3)),
      }
    }
    process.env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] = await serve(async ({ method, url, headers }) => {
      if (method === 'PUT' && url === '/latest/api/token')
        return headers['x-aws-ec2-metadata-token-ttl-seconds'] ? 'session' : 400
      if (headers['x-aws-ec2-metadata-token'] === 'session') return respondToSession(url!)
      refused.push(url!)
      return 401
    })
    await outlivesItsFirstKeys()
    expect(refused).toEqual([])
  })

  test('uses the role of a container (ECS, EKS Pod Identity)', async () => {
    const file = join(directory.path, 'pod-token')
    await writeFile(file, 'pod-token')
    const url = await serve(async ({ url, headers }) =>
      url === '/v1/credentials' && headers.authorization === 'pod-token' ? assumeRole(3) : 401,
    )
    Object.assign(process.env, {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    })
    await outlivesItsFirstKeys()
  })

  test('is unavailable while it has no credentials', async () => {
    process.env['AWS_EC2_METADATA_DISABLED'] = 'true'
    const store = storeWith(createS3Credentials(NO_KEYS))
    await expect(store.check()).rejects.toMatchObject({
      code: 'unavailable',
      cause: { message: expect.stringContaining('Could not load credentials from any providers') },
    })
  })

  test('prefers the keys of the settings, and reads them before each request', async () => {
    process.env['AWS_EC2_METADATA_DISABLED'] = 'true'
    const config = { S3_ACCESS_KEY: minio.accessKey, S3_SECRET_KEY: 'old' }
    const store = storeWith(createS3Credentials(config))
    await expect(store.check()).rejects.toThrow('the store responded with 403')
    config.S3_SECRET_KEY = minio.secretKey
    await store.check()
  })
})
