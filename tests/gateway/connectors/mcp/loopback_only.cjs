// Preloaded into servers that would listen on every interface: they listen on 127.0.0.1 instead.
const net = require("net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...given) {
  const [first] = given;
  const isPort = typeof first === "number" || (typeof first === "string" && /^\d+$/.test(first));
  if (isPort) {
    const ready = given.find((argument) => typeof argument === "function");
    return listen.call(this, { port: Number(first), host: "127.0.0.1" }, ready);
  }
  if (first && typeof first === "object" && first.port !== undefined) first.host = "127.0.0.1";
  return listen.apply(this, given);
};
