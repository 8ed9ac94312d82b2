import torch
from safetensors.torch import save_file

torch.manual_seed(1)
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3, padding=1),
    torch.nn.BatchNorm2d(4),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(64, 10),
)
model(torch.randn(16, 1, 8, 8))  # moves the running statistics
model.eval()
save_file(model.state_dict(), "model.safetensors")
print(model(torch.arange(64).reshape(1, 1, 8, 8) / 64)[0, :4])
