import { join } from 'node:path'
import type { MinioTls } from '../minio/minio'
import { createAuthority, type Issued } from './authority'
import { type CertificateFiles, type ServicesTls, writeAuthorities, writeCertificate } from './tls-files'

/** The certificates of the parts of a stack. One authority issues all of them. */
export type StackTls = {
  services: ServicesTls
  nats: CertificateFiles
  minio: MinioTls
  postgres: Issued
}

/** Creates an authority and certificates, new at each start, and writes them into a folder. */
export async function stackTls(folder: string): Promise<StackTls> {
  const authority = await createAuthority()
  const caFile = await writeAuthorities(folder, [authority])
  const certsDirectory = join(folder, 'minio')
  const issueTo = async (directory: string, names?: { cert: string; key: string }) =>
    writeCertificate(join(folder, directory), await authority.issue(directory), names)
  const [services, nats] = await Promise.all([
    issueTo('services'),
    issueTo('nats'),
    issueTo('minio', { cert: 'public.crt', key: 'private.key' }),
  ])
  return {
    services: { ...services, caFile },
    nats,
    minio: { certsDirectory, caFile },
    postgres: await authority.issue('postgres'),
  }
}
