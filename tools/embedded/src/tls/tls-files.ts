import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../process/replace-file'
import type { Authority, Issued } from './authority'

/** The paths of a certificate and its key. */
export type CertificateFiles = { certFile: string; keyFile: string }

/** The files for TLS between services: their certificate and key, and the authority. */
export type ServicesTls = CertificateFiles & { caFile: string }

/** Writes the certificates of authorities into a folder. Replaces earlier ones. */
export async function writeAuthorities(
  folder: string,
  authorities: Pick<Authority, 'cert'>[],
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const caFile = join(folder, 'ca.pem')
  await replaceFile(caFile, authorities.map(({ cert }) => cert).join(''))
  return caFile
}

/** Writes a certificate and its key into a folder. Replaces each earlier file atomically. */
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
