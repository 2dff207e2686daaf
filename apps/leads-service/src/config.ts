import { host, num, port, readConfig, str } from '@leadwire/service-kit'

export type Config = ReturnType<typeof readLeadsConfig>

export const readLeadsConfig = (env: NodeJS.ProcessEnv) =>
  readConfig(env, {
    LOG_LEVEL: str({
      default: 'info',
      choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    }),
    HOST: host({ default: '127.0.0.1' }),
    GRPC_PORT: port(),
    HEALTH_PORT: port(),
    DATABASE_URL: str(),
    DATABASE_POOL_SIZE: num({ default: 10 }),
    NATS_URL: str(),
    // Where stored images are served: it is part of every rendered lead.
    ASSETS_URL: str(),
    WEBHOOK_SERVICE_URL: str(),
  })
