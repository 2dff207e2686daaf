export * from './addresses'
export * from './config'
export * from './nats-url'
export * from './tls-settings'
