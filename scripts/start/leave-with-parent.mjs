// Loaded into each service before its own code (node --import): when the starter dies, even by SIGKILL, the channel to it
// breaks and the service stops in order instead of living on with its ports taken.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref() // the channel alone keeps no service alive
