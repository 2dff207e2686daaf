import { JetStreamApiError, type JetStreamManager, type StreamConfig } from '@nats-io/jetstream'

const EXISTS_WITH_OTHER_SETTINGS = 10058

/**
 * Creates a stream, or updates its settings. What `config` does not name stays as an operator set it, such as the number of
 * replicas; so do `storage` and `retention`, which nats-server can't change.
 */
export const ensureStream = async (
  manager: JetStreamManager,
  config: Pick<StreamConfig, 'name' | 'subjects' | 'storage' | 'retention'> & Partial<StreamConfig>,
): Promise<void> => {
  const { name, storage: _, retention: __, ...settings } = config
  try {
    await manager.streams.add(config)
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== EXISTS_WITH_OTHER_SETTINGS) throw error
    await manager.streams.update(name, settings)
  }
}
