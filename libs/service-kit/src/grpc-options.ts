import type { ChannelOptions } from '@grpc/grpc-js'

const MEBIBYTE = 1024 * 1024

/** Both ends of a call agree on these. */
export const GRPC_OPTIONS: ChannelOptions = {
  'grpc.max_receive_message_length': 64 * MEBIBYTE,
  'grpc.max_send_message_length': 64 * MEBIBYTE,
  // HTTP/2's default window of 64 KiB makes a page of leads wait for window updates.
  'grpc-node.flow_control_window': 4 * MEBIBYTE,
}
