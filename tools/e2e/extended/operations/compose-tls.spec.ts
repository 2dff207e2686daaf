import { execFileSync, spawnSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const DEPLOY = resolve(__dirname, '../../../../deploy')

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
if (!hasOpenssl) console.warn('SKIPPED: the spec of compose certificates. There is no openssl')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leadwire-compose-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const run = (script: string) => {
  cpSync(join(DEPLOY, script), join(folder, script))
  execFileSync(join(folder, script), { stdio: 'pipe' })
}
const read = (...path: string[]) => readFileSync(join(folder, ...path), 'utf8')

const readCertificate = (part: string) => new X509Certificate(read('certificates', part, 'tls.crt'))

const NAMES = { services: 'leadwire', postgres: 'postgres', nats: 'nats', seaweedfs: 'seaweedfs' }
const PARTS = Object.keys(NAMES) as (keyof typeof NAMES)[]

;(hasOpenssl ? test : test.skip)(
  'make-certificates.sh gives each part a certificate for its name, and renews it under the same authority',
  () => {
    cpSync(join(DEPLOY, 'hash-password.sh'), join(folder, 'hash-password.sh'))
    run('make-secrets.sh')
    run('make-certificates.sh')
    const before = PARTS.map((part) => readCertificate(part).serialNumber)
    run('make-certificates.sh')
    const authority = new X509Certificate(read('certificates/authority/ca.crt'))
    for (const [index, part] of PARTS.entries()) {
      const certificate = readCertificate(part)
      expect(certificate.serialNumber).not.toBe(before[index])
      expect(certificate.verify(authority.publicKey)).toBe(true)
      expect(certificate.checkHost(NAMES[part])).toBe(NAMES[part])
      const key = createPrivateKey(read('certificates', part, 'tls.key'))
      expect(certificate.checkPrivateKey(key)).toBe(true)
      expect(read('certificates', part, 'ca.crt')).toBe(authority.toString())
    }
    expect(read('secrets/leads_database_url_tls')).toBe(
      read('secrets/leads_database_url').replace('\n', '?sslmode=verify-full&sslrootcert=/tls/ca.crt\n'),
    )
    expect(read('secrets/nats_url_tls')).toBe(read('secrets/nats_url').replace('nats://', 'tls://'))
  },
)
