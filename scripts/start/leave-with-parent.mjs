// Each service loads this file before its own code (node --import). When the starter dies, even by SIGKILL, the channel
// to it breaks. The service then stops in order, instead of staying alive and keeping its ports.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref() // the channel alone does not keep a service alive
