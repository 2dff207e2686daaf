import { join } from 'node:path'
import type { MinioTls } from '../minio/minio'
import { createAuthority, type Issued } from './authority'
import { type CertificateFiles, type ServicesTls, writeAuthorities, writeCertificate } from './tls-files'

/** What each part of a stack shows; all of it is issued by one authority. */
export type StackTls = {
  services: ServicesTls
  nats: CertificateFiles
  minio: MinioTls
  postgres: Issued
}

/** Makes an authority and what it issues, anew at each start, and writes it into a folder. */
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
