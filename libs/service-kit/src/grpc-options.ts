import type { ChannelOptions } from '@grpc/grpc-js'

const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE

/**
 * How much of each call's data may be under way or wait to be read (HTTP/2's flow-control window). The default of
 * 64 KiB makes a page of leads wait for window updates.
 */
export const WINDOW = 4 * MEBIBYTE

/** The same where calls are streams of files: many are open at once, and a slow reader's window stands full in memory. */
export const STREAM_WINDOW = 256 * KIBIBYTE

/**
 * The largest frame an end may be sent. With the 16 KiB that HTTP/2 starts from, the answers of one batch are five frames and
 * as many writes: leads-service spent half of its processor time on them.
 */
export const MAX_FRAME = MEBIBYTE

/** Both ends of a call agree on these. */
export const GRPC_OPTIONS: ChannelOptions = {
  'grpc.max_receive_message_length': 64 * MEBIBYTE,
  'grpc.max_send_message_length': 64 * MEBIBYTE,
}
