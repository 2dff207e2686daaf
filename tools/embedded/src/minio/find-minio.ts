import { type FindOptions, findGoServer, type GoServer } from '../process/find-go-server'
import { goInstall } from '../process/go-install'

const MINIO: GoServer = {
  title: 'MinIO',
  program: 'minio',
  module: 'github.com/minio/minio@latest',
  build: goInstall,
  setting: 'MINIO_BIN',
  versionArgs: ['--version'],
}

/** Returns the path of MinIO's server. Rejects with the reasons if no program is found. */
export const findMinio = (env: NodeJS.ProcessEnv, options?: FindOptions): Promise<string> =>
  findGoServer(MINIO, env, options)
