import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../process/replace-file'
import type { Authority, Issued } from './authority'

/** Where a certificate and its key are. */
export type CertificateFiles = { certFile: string; keyFile: string }

/** What services are told of TLS between them: their own certificate, and the authority of all. */
export type ServicesTls = CertificateFiles & { caFile: string }

/** Writes the authorities' certificates into a folder, replacing those that are there. */
export async function writeAuthorities(
  folder: string,
  authorities: Pick<Authority, 'cert'>[],
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const caFile = join(folder, 'ca.pem')
  await replaceFile(caFile, authorities.map(({ cert }) => cert).join(''))
  return caFile
}

/** Writes a certificate and its key into a folder, replacing those that are there; each is whole at every instant. */
export async function writeCertificate(
  folder: string,
  { cert, key }: Issued,
  names = { cert: 'cert.pem', key: 'key.pem' },
): Promise<CertificateFiles> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const files = { certFile: join(folder, names.cert), keyFile: join(folder, names.key) }
  await replaceFile(files.keyFile, key)
  await replaceFile(files.certFile, cert)
  return files
}
